from .special_errors import *
from .special_gamma import *
