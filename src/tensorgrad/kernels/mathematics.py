"""The functions of numbers inside a loop, written as LLVM instructions without branches, so that LLVM can vectorise them.

`number(body, op, args, kinds, kind)` appends the instructions of one operation and returns the register of its result. What
has no polynomial here is a call of the C library's function of that name, right but one number at a time.
"""

import functools
import math
import struct

import numpy as np

TYPES = {"f4": "float", "f8": "double", "f2": "half", "b1": "i1", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64",
         "u1": "i8", "u2": "i16", "u4": "i32", "u8": "i64", "bf": "i16"}  # fmt: skip


def kind_of(dtype):
    """A dtype as one of the keys of TYPES."""
    return "bf" if dtype.name == "bfloat16" else dtype.str[1:]


def literal(number, kind):
    """A number as LLVM writes it."""
    if kind[0] == "f":
        number = float(number)
        if kind == "f4":
            with np.errstate(over="ignore"):
                number = float(np.float32(number))
        elif kind == "f2":
            return f"0xH{np.float16(number).view(np.uint16):04X}"
        return f"0x{struct.unpack('>Q', struct.pack('>d', number))[0]:016X}"
    if kind == "b1":
        return "true" if number else "false"
    if kind == "bf":
        import ml_dtypes

        return str(int(np.asarray(number, ml_dtypes.bfloat16).view(np.uint16)))
    return str(int(number))


class Body:
    """Instructions that are being written, and what they declare."""

    def __init__(self, declared):
        self.lines, self.count, self.declared = [], 0, declared

    def add(self, text):
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def call(self, function, result, *args):
        """A call; args are (type, register)."""
        self.declared[function] = f"declare {result} @{function}({', '.join(t for t, _ in args)})"
        return self.add(f"call {result} @{function}({', '.join(f'{t} {r}' for t, r in args)})")


class Floats:
    """Arithmetic on float or double registers; Python numbers become literals."""

    def __init__(self, body, kind):
        self.body, self.kind, self.type = body, kind, TYPES[kind]
        self.single = kind == "f4"
        self.bits = "i32" if self.single else "i64"

    def lit(self, x):
        return x if isinstance(x, str) else literal(x, self.kind)

    def binary(self, op, x, y):
        return self.body.add(f"{op} contract {self.type} {self.lit(x)}, {self.lit(y)}")

    def exact(self, op, x, y):
        """Without contraction, where a rounding step must stay."""
        return self.body.add(f"{op} {self.type} {self.lit(x)}, {self.lit(y)}")

    def plus(self, x, y):
        return self.binary("fadd", x, y)

    def minus(self, x, y):
        return self.binary("fsub", x, y)

    def times(self, x, y):
        return self.binary("fmul", x, y)

    def over(self, x, y):
        return self.binary("fdiv", x, y)

    def fma(self, x, y, z):
        t = self.type
        return self.body.call(
            f"llvm.fma.f{(t == 'float' and 32) or 64}", t, (t, self.lit(x)), (t, self.lit(y)), (t, self.lit(z))
        )

    def intrinsic(self, name, *args):
        t = self.type
        suffix = "f32" if self.single else "f64"
        return self.body.call(f"llvm.{name}.{suffix}", t, *[(t, self.lit(a)) for a in args])

    def compare(self, how, x, y):
        return self.body.add(f"fcmp {how} {self.type} {self.lit(x)}, {self.lit(y)}")

    def select(self, condition, x, y):
        return self.body.add(f"select i1 {condition}, {self.type} {self.lit(x)}, {self.type} {self.lit(y)}")

    def polynomial(self, x, coefficients):
        """c0 + c1 x + c2 x^2 ..."""
        result = self.lit(coefficients[-1])
        for c in coefficients[-2::-1]:
            result = self.fma(result, x, c)
        return result

    def as_bits(self, x):
        return self.body.add(f"bitcast {self.type} {x} to {self.bits}")

    def from_bits(self, x):
        return self.body.add(f"bitcast {self.bits} {x} to {self.type}")

    def whole(self, op, x, y):
        return self.body.add(f"{op} {self.bits} {x}, {y}")

    def clamp(self, x, low, high):
        """Between two numbers; NaN stays NaN."""
        x = self.select(self.compare("ogt", x, high), high, x)
        return self.select(self.compare("olt", x, low), low, x)

    # Functions

    def two_to(self, p, n):
        """p times 2^n for n in the low bits of an integer, in two steps, so that neither overflows."""
        mantissa, bias = (23, 127) if self.single else (52, 1023)
        half = self.whole("ashr", n, 1)
        rest = self.whole("sub", n, half)
        for part in (half, rest):
            p = self.exact("fmul", p, self.from_bits(self.whole("shl", self.whole("add", part, bias), mantissa)))
        return p

    def exp(self, x):
        if self.single:
            low, high, magic = -104.0, 89.0, 12582912.0
            ln2, tail, bits = 0.693359375, -2.12194440e-4, 0x4B400000
            polynomial = EXP32
        else:
            low, high, magic = -746.0, 710.0, 6755399441055744.0
            ln2, tail, bits = 0.6931471803691238, 1.9082149292705877e-10, 0x4338000000000000
            polynomial = EXP64
        x = self.clamp(x, low, high)
        shifted = self.fma(x, 1.4426950408889634, magic)
        n = self.exact("fsub", shifted, magic)
        r = self.fma(n, -tail, self.fma(n, -ln2, x))
        p = self.polynomial(r, polynomial)
        p = self.plus(self.fma(self.times(r, r), p, r), 1.0)
        return self.two_to(p, self.whole("sub", self.as_bits(shifted), bits))

    def expm1(self, x):
        """exp(x) - 1: with x = n ln 2 + r it is 2^n (exp(r) - 1) + (2^n - 1), here halved so that 2^1024 is no step."""
        if self.single:
            low, high, magic = -40.0, 89.0, 12582912.0
            ln2, tail, bits, mantissa, bias = 0.693359375, -2.12194440e-4, 0x4B400000, 23, 126
            polynomial = EXP32
        else:
            low, high, magic = -60.0, 710.0, 6755399441055744.0
            ln2, tail, bits, mantissa, bias = 0.6931471803691238, 1.9082149292705877e-10, 0x4338000000000000, 52, 1022
            polynomial = EXP64
        y = self.clamp(x, low, high)
        shifted = self.fma(y, 1.4426950408889634, magic)
        n = self.exact("fsub", shifted, magic)
        r = self.fma(n, -tail, self.fma(n, -ln2, y))
        p = self.fma(self.times(r, r), self.polynomial(r, polynomial), r)
        whole = self.whole("add", self.whole("sub", self.as_bits(shifted), bits), bias)
        half = self.from_bits(self.whole("shl", whole, mantissa))
        result = self.exact("fmul", self.fma(half, p, self.exact("fsub", half, 0.5)), 2.0)
        return self.select(self.compare("oeq", x, 0.0), x, result)

    def log1p(self, x):
        """log(u) for u = 1 + x rounded, and to it what the rounding lost, over u."""
        u = self.exact("fadd", x, 1.0)
        part = self.exact("fsub", u, 1.0)
        lost = self.exact("fadd", self.exact("fsub", x, part), self.exact("fsub", 1.0, self.exact("fsub", u, part)))
        result = self.plus(self.log(u), self.over(lost, u))
        odd = self.body.add(f"or i1 {self.compare('oeq', x, 0.0)}, {self.compare('oeq', x, math.inf)}")
        odd = self.body.add(f"or i1 {odd}, {self.compare('ole', x, -1.0)}")
        plain = self.select(
            self.compare("oeq", x, -1.0), -math.inf, self.select(self.compare("olt", x, -1.0), math.nan, x)
        )
        return self.select(odd, plain, result)

    def split(self, x):
        """x = m * 2^e for positive x, with m in [2/3, 4/3): (m, e as a float)."""
        mantissa, smallest = (23, 2.0**-126) if self.single else (52, 2.0**-1022)
        tiny = self.compare("olt", x, smallest)
        x = self.select(tiny, self.times(x, 2.0**mantissa), x)
        bits = self.as_bits(x)
        third = 0x3F2AAAAB if self.single else 0x3FE5555555555555
        e = self.whole("ashr", self.whole("sub", bits, third), mantissa)
        m = self.from_bits(self.whole("sub", bits, self.whole("shl", e, mantissa)))
        e = self.body.add(f"sitofp {self.bits} {e} to {self.type}")
        return m, self.select(tiny, self.minus(e, float(mantissa)), e)

    def log(self, x):
        m, e = self.split(x)
        r = self.exact("fsub", m, 1.0)
        if self.single:
            square = self.times(r, r)
            p = self.times(self.times(square, r), self.polynomial(r, LOG32))
            p = self.fma(e, -2.12194440e-4, p)
            p = self.fma(square, -0.5, p)
            result = self.fma(e, 0.693359375, self.plus(r, p))
        else:
            s = self.over(r, self.plus(r, 2.0))
            z = self.times(s, s)
            half = self.times(self.times(r, r), 0.5)
            p = self.times(z, self.polynomial(z, LOG64))
            p = self.times(s, self.plus(half, p))
            p = self.fma(e, 1.9082149292705877e-10, p)
            result = self.fma(e, 0.6931471803691238, self.minus(r, self.minus(half, p)))
        result = self.select(self.compare("oeq", x, math.inf), math.inf, result)
        result = self.select(self.compare("oeq", x, 0.0), -math.inf, result)
        return self.select(self.compare("uge", x, 0.0), self.select(self.compare("uno", x, x), x, result), math.nan)

    def tanh(self, x):
        if not self.single:
            return self.library("tanh", x)
        size = self.intrinsic("fabs", x)
        z = self.times(x, x)
        small = self.fma(self.times(z, x), self.polynomial(z, TANH32), x)
        e = self.exp(self.times(size, 2.0))
        large = self.minus(1.0, self.over(2.0, self.plus(e, 1.0)))
        return self.intrinsic("copysign", self.select(self.compare("olt", size, 0.625), small, large), x)

    def erf(self, x):
        if not self.single:
            return self.library("erf", x)
        size = self.intrinsic("fabs", x)
        z = self.times(x, x)
        small = self.fma(x, self.polynomial(z, ERF32), x)
        clamped = self.select(self.compare("ogt", size, 3.94), 3.94, size)
        p = self.polynomial(clamped, ERFC32)
        large = self.minus(1.0, self.exp(self.exact("fsub", 0.0, p)))
        large = self.intrinsic("copysign", large, x)
        large = self.select(self.compare("uno", x, x), x, large)
        return self.select(self.compare("olt", size, 1.0), small, large)

    def library(self, name, *args):
        """The C library's function, one number at a time."""
        t = self.type
        return self.body.call(name + ("f" if self.single else ""), t, *[(t, self.lit(a)) for a in args])

    def wider(self, x):
        """The same number in double, and what computes with those."""
        return self.body.add(f"fpext float {self.lit(x)} to double"), Floats(self.body, "f8")

    def narrower(self, x):
        return self.body.add(f"fptrunc double {x} to float")

    def power(self, x, y):
        """exp(y log|x|) in double, then what is special about zeros, negative numbers and infinities."""
        if not self.single:
            return self.library("pow", x, y)
        x, y = self.lit(x), self.lit(y)
        size = self.intrinsic("fabs", x)
        wide, double = self.wider(size)
        exponent, _ = self.wider(y)
        result = self.narrower(double.exp(double.times(exponent, double.log(wide))))
        half, both = self.times(y, 0.5), lambda *conditions: self.all(*conditions)
        whole = self.compare("oeq", self.intrinsic("trunc", y), y)
        odd = both(whole, self.compare("une", self.intrinsic("trunc", half), half))
        result = self.select(odd, self.intrinsic("copysign", result, x), result)
        broken = self.body.add(f"xor i1 {whole}, true")
        broken = both(
            broken, self.compare("olt", x, 0.0), self.compare("one", size, math.inf), self.compare("oeq", y, y)
        )
        result = self.select(broken, math.nan, result)
        turns = both(self.compare("oeq", size, 1.0), self.compare("oeq", self.intrinsic("fabs", y), math.inf))
        one = self.body.add(f"or i1 {self.compare('oeq', y, 0.0)}, {self.compare('oeq', x, 1.0)}")
        return self.select(self.body.add(f"or i1 {one}, {turns}"), 1.0, result)

    def all(self, first, *others):
        for other in others:
            first = self.body.add(f"and i1 {first}, {other}")
        return first

    def quadrant(self, x):
        """(number of quarter turns in the low bits of an i64, the rest of the angle in double) of any float.

        Small angles in two steps of pi/2; large ones as whole numbers times the bits of 2/pi that are left after full turns.
        """
        wide, double = self.wider(x)
        turns = double.intrinsic("rint", double.times(wide, 2 / math.pi))
        small = double.fma(turns, -6.123233995736766e-17, double.fma(turns, -1.5707963267948966, wide))
        size = self.intrinsic("fabs", x)
        near = self.compare("olt", size, 2.0**27)
        add = self.body.add
        small_turns = double.select(near, turns, 0.0)
        small_turns = add(f"fptosi double {small_turns} to i64")
        bits = add(f"zext i32 {self.as_bits(size)} to i64")
        power = add(f"lshr i64 {bits}, 23")
        mantissa = add(f"or i64 {add(f'and i64 {bits}, 8388607')}, 8388608")
        scale = add(f"sub i64 {power}, 150")  # the float is its mantissa times 2^scale
        block, shift = add(f"ashr i64 {scale}, 5"), add(f"sub i64 32, {add(f'and i64 {scale}, 31')}")
        blocks = [add(f"icmp eq i64 {block}, {n}") for n in (1, 2, 3)]
        stream, words = turn_bits(), []
        for k in range(3):  # 96 bits from where whole turns end, out of the stream
            word, *others = [stream[n + k] << 32 | stream[n + k + 1] for n in range(4)]
            for here, other in zip(blocks, others, strict=True):
                word = add(f"select i1 {here}, i64 {other}, i64 {word}")
            words.append(add(f"and i64 {add(f'lshr i64 {word}, {shift}')}, 4294967295"))
        product = add(f"shl i64 {add(f'mul i64 {mantissa}, {words[0]}')}, 32")
        product = add(f"add i64 {product}, {add(f'mul i64 {mantissa}, {words[1]}')}")
        low = add(f"mul i64 {mantissa}, {words[2]}")
        product = add(f"add i64 {product}, {add(f'lshr i64 {low}, 32')}")
        large_turns = add(f"lshr i64 {add(f'add i64 {product}, {1 << 61}')}, 62")
        rest = add(f"sub i64 {product}, {add(f'shl i64 {large_turns}, 62')}")
        large = double.times(add(f"sitofp i64 {rest} to double"), math.pi / 2 * 2.0**-62)
        below = self.compare("olt", x, 0.0)
        large = double.select(below, add(f"fneg double {large}"), large)
        large_turns = add(f"select i1 {below}, i64 {add(f'sub i64 0, {large_turns}')}, i64 {large_turns}")
        return add(f"select i1 {near}, i64 {small_turns}, i64 {large_turns}"), double.select(near, small, large)

    def wave(self, x, ahead):
        """sin(x + ahead quarter turns)."""
        turns, angle = self.quadrant(x)
        double, add = Floats(self.body, "f8"), self.body.add
        z = double.times(angle, angle)
        sine = double.fma(double.times(angle, z), double.polynomial(z, SIN), angle)
        cosine = double.fma(z, double.polynomial(z, COS), 1.0)
        turns = add(f"add i64 {turns}, {ahead}") if ahead else turns
        odd = add(f"icmp ne i64 {add(f'and i64 {turns}, 1')}, 0")
        back = add(f"icmp ne i64 {add(f'and i64 {turns}, 2')}, 0")
        result = double.select(odd, cosine, sine)
        result = self.narrower(double.select(back, add(f"fneg double {result}"), result))
        return self.select(self.compare("olt", self.intrinsic("fabs", x), math.inf), result, math.nan)

    def sin(self, x):
        if not self.single:
            return self.library("sin", x)
        return self.select(self.compare("oeq", x, 0.0), x, self.wave(x, 0))

    def cos(self, x):
        return self.wave(x, 1) if self.single else self.library("cos", x)

    def sign(self, x):
        one = self.intrinsic("copysign", 1.0, x)
        return self.select(self.compare("ueq", x, 0.0), 0.0, one)  # 0 for NaN too, as PyTorch has it

    def maximum(self, x, y):
        return self.intrinsic("maximum", x, y)

    def minimum(self, x, y):
        return self.intrinsic("minimum", x, y)


@functools.cache
def turn_bits():
    """The bits of 2/pi in words of 32, the first of weight 2^33: by Machin's formula, in whole numbers."""

    def arctan(n):
        power = total = one // n
        k = 1
        while power:
            power //= n * n
            k += 2
            total += -(power // k) if k % 4 == 3 else power // k
        return total

    one = 1 << 400
    pi = 4 * (4 * arctan(5) - arctan(239))
    stream = (2 * one * one // pi) >> (400 - 94 - 32 - 96) & (1 << 224) - 1
    return [stream >> 32 * n & 0xFFFFFFFF for n in range(6, -1, -1)]


# Polynomials fitted to the functions at Chebyshev's points, in many digits.

EXP32 = (0.5000000014291086, 0.16666573358081635, 0.041666456777923716, 0.008363776466630793, 0.0013934544520014336)
EXP64 = (0.5, 0.1666666666666667, 0.04166666666666668, 0.008333333333325544, 0.0013888888888878269, 0.00019841269876866175,
         2.4801587338566822e-05, 2.7557252831535417e-06, 2.755726102796785e-07, 2.5106275452329115e-08,
         2.091896228697882e-09)  # fmt: skip
LOG32 = (0.33333333668806814, -0.2499994305691796, 0.19999850678147366, -0.16673398305859968, 0.14296291707203718,
         -0.12287236515798076, 0.10851657504511722, -0.12429866372594191, 0.11619525266245728)  # fmt: skip
LOG64 = (0.6666666666666666, 0.40000000000011143, 0.2857142856587611, 0.22222223275235298, 0.18181720283252215,
         0.15389542947695387, 0.1319676212448357, 0.13706006259998668)  # fmt: skip
TANH32 = (-0.3333333317785046, 0.13333304277861624, -0.05395940590835395, 0.021769960917308626, -0.008346980494606172,
          0.002295841262758343)  # fmt: skip
ERF32 = (0.1283791670623609, -0.3761263847599132, 0.11283782622062184, -0.026865438310515116, 0.005221053412537675,
         -0.0008484396550601893, 0.00011268253894199437, -9.673590811750782e-06)  # fmt: skip
ERFC32 = (-0.00011981175019221578, 1.1291745850394863, 0.6342640865230018, 0.10687153196442022, -0.023761783463827145,
          0.0033199410520591338, -8.764126644486241e-05, -6.742732656579851e-05, 1.2833912959505306e-05,
          -8.047215009688668e-07)  # fmt: skip

SIN = (
    -0.16666666666666666,
    0.008333333333333333,
    -0.0001984126984126984,
    2.7557319223985893e-06,
    -2.505210838544172e-08,
)
COS = (-0.5, 0.041666666666666664, -0.001388888888888889, 2.48015873015873e-05, -2.755731922398589e-07,
       2.08767569878681e-09)  # fmt: skip

ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
WHOLE = {"add": "add", "subtract": "sub", "multiply": "mul", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
         "logical_and": "and", "logical_or": "or"}  # fmt: skip
ORDER = {
    "less": "olt",
    "less_equal": "ole",
    "greater": "ogt",
    "greater_equal": "oge",
    "equal": "oeq",
    "not_equal": "une",
}
SIGNED = {
    "less": "slt",
    "less_equal": "sle",
    "greater": "sgt",
    "greater_equal": "sge",
    "equal": "eq",
    "not_equal": "ne",
}
INTRINSICS = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "absolute": "fabs",
              "copysign": "copysign"}  # fmt: skip
OWN = {"exp", "log", "expm1", "log1p", "tanh", "erf", "sign", "sin", "cos", "power", "maximum", "minimum"}
LIBRARY = {"log2", "log10", "exp2", "tan", "sinh", "cosh", "asin", "acos", "atan", "asinh",
           "acosh", "atanh", "atan2", "hypot", "fmax", "fmin", "erfc", "lgamma"}  # fmt: skip
FUNCTIONS = frozenset((*ARITHMETIC, *WHOLE, *ORDER, *INTRINSICS, *OWN, *LIBRARY, "where", "cast", "negative", "logical_not",
                       "invert", "isnan", "isinf", "isfinite"))  # fmt: skip


def number(body, op, args, kinds, kind):
    """Append one operation: `args` are registers or literals of `kinds`, the result is of `kind`."""
    source = kinds[0]
    if op == "cast":
        return cast(body, args[0], source, kind)
    if op == "where":
        t = TYPES[kind]
        return body.add(f"select i1 {args[0]}, {t} {args[1]}, {t} {args[2]}")
    if source[0] == "f":
        return float_number(Floats(body, source), op, args)
    t = TYPES[source]
    if op in WHOLE:
        if source == "b1" and op in ("add", "multiply"):
            return body.add(f"{'or' if op == 'add' else 'and'} i1 {args[0]}, {args[1]}")
        return body.add(f"{WHOLE[op]} {t} {args[0]}, {args[1]}")
    if op in SIGNED:
        how = SIGNED[op] if source[0] == "i" else SIGNED[op].replace("s", "u") if len(SIGNED[op]) == 3 else SIGNED[op]
        return body.add(f"icmp {how} {t} {args[0]}, {args[1]}")
    if op in ("maximum", "minimum", "fmax", "fmin"):
        how = ("s" if source[0] == "i" else "u") + ("gt" if op in ("maximum", "fmax") else "lt")
        return body.add(f"select i1 {body.add(f'icmp {how} {t} {args[0]}, {args[1]}')}, {t} {args[0]}, {t} {args[1]}")
    if op == "negative":
        return body.add(f"sub {t} 0, {args[0]}")
    if op == "absolute":
        less = body.add(f"icmp slt {t} {args[0]}, 0") if source[0] == "i" else "false"
        return body.add(f"select i1 {less}, {t} {body.add(f'sub {t} 0, {args[0]}')}, {t} {args[0]}")
    if op == "sign":
        up = body.add(
            f"zext i1 {body.add(f'icmp {chr(115) if source[0] == chr(105) else chr(117)}gt {t} {args[0]}, 0')} to {t}"
        )
        if source[0] != "i":
            return up
        down = body.add(f"zext i1 {body.add(f'icmp slt {t} {args[0]}, 0')} to {t}")
        return body.add(f"sub {t} {up}, {down}")
    if op in ("logical_not", "invert"):
        if op == "logical_not" and source != "b1":
            return body.add(f"icmp eq {t} {args[0]}, 0")
        return body.add(f"xor {t} {args[0]}, {'true' if source == 'b1' else -1}")
    if op in ("isnan", "isinf", "isfinite"):
        return "true" if op == "isfinite" else "false"
    if op in ("floor", "ceil", "trunc", "rint"):
        return args[0]
    raise KeyError(op)


def float_number(f, op, args):
    if op in ARITHMETIC:
        return f.binary(ARITHMETIC[op], *args)
    if op in ORDER:
        return f.compare(ORDER[op], *args)
    if op == "negative":
        return f.body.add(f"fneg {f.type} {args[0]}")
    if op in INTRINSICS:
        return f.intrinsic(INTRINSICS[op], *args)
    if op in OWN:
        return getattr(f, op)(*args)
    if op in LIBRARY:
        return f.library(op, *args)
    if op == "isnan":
        return f.compare("uno", args[0], args[0])
    if op == "isinf":
        return f.compare("oeq", f.intrinsic("fabs", args[0]), math.inf)
    if op == "isfinite":
        return f.compare("olt", f.intrinsic("fabs", args[0]), math.inf)
    if op in ("logical_and", "logical_or"):
        a, b = (f.compare("une", x, 0.0) for x in args)
        return f.body.add(f"{'and' if op == 'logical_and' else 'or'} i1 {a}, {b}")
    if op == "logical_not":
        return f.compare("oeq", args[0], 0.0)
    raise KeyError(op)


def cast(body, x, source, kind):
    """Another format for a number."""
    s, t = TYPES[source], TYPES[kind]
    if source == kind:
        return x
    if source == "bf":
        wide = body.add(f"shl i32 {body.add(f'zext i16 {x} to i32')}, 16")
        return cast(body, body.add(f"bitcast i32 {wide} to float"), "f4", kind)
    if kind == "bf":
        return to_bfloat(body, cast(body, x, source, "f4"))
    if kind == "b1":
        return (
            body.add(f"fcmp une {s} {x}, {literal(0, source)}") if source[0] == "f" else body.add(f"icmp ne {s} {x}, 0")
        )
    if source[0] == "f" and kind[0] == "f":
        order = ("f2", "f4", "f8")
        how = "fpext" if order.index(kind) > order.index(source) else "fptrunc"
        return body.add(f"{how} {s} {x} to {t}")
    if source[0] == "f":
        bits = {"f4": 32, "f8": 64, "f2": 16}[source]
        name = f"llvm.fpto{'s' if kind[0] == 'i' else 'u'}i.sat.{t}.f{bits}"
        return body.call(name, t, (s, x))
    if kind[0] == "f":
        return body.add(f"{'sitofp' if source[0] == 'i' else 'uitofp'} {s} {x} to {t}")
    bits = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
    if bits[s] == bits[t]:
        return x
    if bits[s] > bits[t]:
        return body.add(f"trunc {s} {x} to {t}")
    return body.add(f"{'sext' if source[0] == 'i' else 'zext'} {s} {x} to {t}")


def to_bfloat(body, x):
    """float to bfloat16, rounded to nearest even."""
    bits = body.add(f"bitcast float {x} to i32")
    odd = body.add(f"and i32 {body.add(f'lshr i32 {bits}, 16')}, 1")
    more = body.add(f"add i32 {odd}, 32767")
    more = body.add(f"add i32 {bits}, {more}")
    rounded = body.add(f"lshr i32 {more}, 16")
    short = body.add(f"trunc i32 {rounded} to i16")
    nan = body.add(f"fcmp uno float {x}, {x}")
    return body.add(f"select i1 {nan}, i16 32704, i16 {short}")
