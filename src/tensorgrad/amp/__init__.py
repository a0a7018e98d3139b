"""Mixed precision: PyTorch's `torch.amp`. Products are computed in bfloat16, what needs precision in float32.

>>> with torch.autocast("cpu"):
...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
tensorgrad.bfloat16
"""

from tensorgrad.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from tensorgrad.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
