"""A program as text: the Python loops that its kernels stand for."""

from tensorgrad.kernels.schedule import Host, Loops, contiguous
from tensorgrad.kernels.values import VIEWS

SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "less": "<", "less_equal": "<=",
         "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=", "logical_and": "and", "logical_or": "or",
         "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}  # fmt: skip
BEGIN = {"add": "0", "multiply": "1", "maximum": "-inf", "minimum": "inf", "any": "False", "all": "True"}
JOIN = {"add": "{0} += {1}", "multiply": "{0} *= {1}", "maximum": "{0} = max({0}, {1})", "minimum": "{0} = min({0}, {1})",
        "any": "{0} |= {1}", "all": "{0} &= {1}"}  # fmt: skip


class Loop:
    """The text of one nest of loops."""

    def __init__(self, step, plan, names):
        self.step, self.plan, self.names = step, plan, names
        self.members, self.registers = set(step.members), {}

    def element(self, base, offset, strides):
        """`x[i, j]` for an access."""
        own = self.plan.layouts.get(base) or contiguous(base.shape)
        axes = range(len(self.step.shape))
        if not offset and strides == own and base.shape == self.step.shape:
            return f"{self.names[base]}[{', '.join(f'i{a}' for a in axes)}]" if base.shape else self.names[base]
        terms = [
            f"i{a}" if s == 1 else f"{s} * i{a}"
            for a, s in zip(axes, strides, strict=True)
            if s and self.step.shape[a] != 1
        ]
        if offset or not terms:
            terms.append(str(offset))
        if not base.shape:
            return self.names[base]
        return f"{self.names[base]}.flat[{' + '.join(terms)}]"

    def argument(self, arg):
        if arg.op == "const":
            return f"{arg.attr[1]:.9g}" if isinstance(arg.attr[1], float) else str(arg.attr[1])
        if arg.op == "iota":
            return f"i{arg.attr}"
        if arg in self.registers:
            return self.registers[arg]
        if arg.op in VIEWS and arg.args[0].op == "const":
            return self.argument(arg.args[0])
        access = self.plan.access(arg)
        return self.element(access.base, access.offset, access.strides)

    def lines(self):
        step, plan, names = self.step, self.plan, self.names
        depth = len(step.shape)
        head, body, tail = [], [], []
        for value in step.members:
            if value.op == "reduce":
                kind, axes = value.attr
                kept = [f"i{a}" for a in range(depth) if a not in axes]
                place = f"{names[value]}[{', '.join(kept)}]" if kept else names[value]
                head.append(f"{names[value]}{'[...]' if kept else ''} = {BEGIN[kind]}")
                body.append(JOIN[kind].format(place, self.argument(value.args[0])))
                continue
            if value.op == "part":
                target, axis, start = value.attr
                strides = contiguous(target.shape)
                place = self.element(target, start * strides[axis], strides)
                body.append(f"{place} = {self.argument(value.args[0])}")
                continue
            if value.op == "scatter":
                head.append(f"{names[value]}[...] = 0")
                body.append(
                    f"{names[value]}[{self.names[plan.access(value.args[0]).base]}[...]] += {self.argument(value.args[1])}"
                )
                continue
            text = self.expression(value)
            if value in plan.stored:
                place = self.element(value, 0, contiguous(step.shape))
                body.append(f"{place} = {text}")
                self.registers[value] = place
            else:
                name = f"t{value.number}"
                body.append(f"{name} = {text}")
                self.registers[value] = name
        lines = head
        for axis, n in enumerate(step.shape):
            lines.append("    " * axis + f"for i{axis} in range({n}):")
        return lines + ["    " * depth + line for line in body] + tail

    def expression(self, value):
        if value.op in ("gather", "embed"):
            names = [self.names[self.plan.access(a).base] for a in value.args]
            where = (
                f"{names[1]}[...]" if value.op == "gather" else f"inside {value.attr[0]} step {value.attr[1]}, else 0"
            )
            return f"{names[0]}[{where}]"
        args = [self.argument(a) for a in value.args]
        if value.op in SIGNS and len(args) == 2:
            return f"{args[0]} {SIGNS[value.op]} {args[1]}"
        if value.op == "where":
            return f"{args[1]} if {args[0]} else {args[2]}"
        if value.op == "cast":
            return f"{value.dtype}({args[0]})"
        if value.op == "copy":
            return args[0]
        return f"{value.op}({', '.join(args)})"


def source(program, inputs=()):
    """The program as Python loops."""
    plan, names = program.plan, {}
    for number, value in enumerate(program.inputs):
        names[value] = inputs[number] if number < len(inputs) else f"x{number}"
    for value in plan.stored:
        target = program.stores.get(value)
        names.setdefault(value, names[target] if target is not None else f"b{abs(value.number)}")
    lines = []
    for step in plan.steps:
        if type(step) is Loops:
            lines += Loop(step, plan, names).lines()
        else:
            value = step.value
            args = ", ".join(names[access.base] for access in plan.operands[value])
            if type(step) is Host and value.op == "host":
                made = [names[v] for v in plan.stored if v.op == "pick" and v.args[0] is value]
                lines.append(f"{', '.join(made)} = {value.attr.name}({args})")
            else:
                lines.append(f"{names[value]} = matmul({args})")
        lines.append("")
    return "\n".join(lines).rstrip()
