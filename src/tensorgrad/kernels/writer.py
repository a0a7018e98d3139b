"""A whole program in LLVM's language: functions of nests, each once, and functions that run a list of steps."""

from tensorgrad.kernels import product
from tensorgrad.kernels.emit import LOOP, THREADS_FROM, Nest
from tensorgrad.kernels.mathematics import Body, literal
from tensorgrad.kernels.pool import RUN
from tensorgrad.kernels.schedule import contiguous
from tensorgrad.kernels.values import merged


class Writer:
    """The text of a whole module: functions of nests, each once, and functions that run a list of steps."""

    def __init__(self, plan, stores, slots, threads, products):
        self.plan, self.stores, self.slots = (
            plan,
            stores,
            slots,
        )  # slots: stored Value -> its place in the table of pointers
        self.threads, self.products = threads, products
        self.declared, self.functions, self.texts = {}, {}, []

    def nest(self, step):
        """(name, Values whose buffers it takes, number of threads) of a nest."""
        nest = Nest(step, self.plan, self.stores, self.declared)
        bases, body, shared = nest.text()
        outputs = {self.stores.get(v, v) for v in step.members if v in self.plan.stored}
        outputs |= {self.stores.get(v.attr[0], v.attr[0]) for v in step.members if v.op == "part"}
        threads = self.threads if shared and nest.cost() > THREADS_FROM and nest.sizes[0] >= self.threads else 1
        parameters = ", ".join(f"ptr noalias {'' if b in outputs else 'readonly '}{r}" for b, r in nest.bases.items())
        key = parameters, body, nest.sizes[0] if nest.sizes else 0, threads
        name = self.functions.get(key)
        if name is None:
            name = self.functions[key] = f"nest{len(self.functions)}"
            comma = ", " if parameters else ""
            body = body.replace(LOOP, f", !llvm.loop !{len(self.functions) + 1}")
            self.texts.append(f"define internal void @{name}({parameters}{comma}i64 %lo, i64 %hi) #1 {{\n{body}\n}}")
            if threads > 1:
                self.texts.append(self.work(name, len(bases), nest.sizes[0]))
        return name, bases, threads, nest.sizes[0] if nest.sizes else 1

    def work(self, name, count, size):
        """A share of a nest, as the pool calls it: the pointers come out of a table."""
        body = Body(self.declared)
        places = [body.add(f"getelementptr ptr, ptr %table, i64 {n}") for n in range(count)]
        args = [f"ptr {body.add(f'load ptr, ptr {place}')}" for place in places]
        for number in ("%t", body.add("add i64 %t, 1")):
            part = body.add(f"mul i64 {number}, {size}")
            args.append(f"i64 {body.add(f'sdiv i64 {part}, %T')}")
        body.lines += [f"  call void @{name}({', '.join(args)})", "  ret void"]
        lines = "\n".join(body.lines)
        return f"define internal void @{name}_work(ptr %table, i64 %t, i64 %T) #0 {{\n{lines}\n}}"

    def segment(self, name, steps):
        """The function that runs steps one after another; its argument is the table of pointers."""
        body, pointers = Body(self.declared), {}
        body.lines.append(f"  %numbers = alloca [{len(product.TABLE)} x i64]")

        def pointer(base):
            slot = self.slots[self.stores.get(base, base)]
            if slot not in pointers:
                address = body.add(f"getelementptr ptr, ptr %table, i64 {slot}")
                pointers[slot] = body.add(f"load ptr, ptr {address}")
            return pointers[slot]

        for step in steps:
            if hasattr(step, "members"):
                self.call_nest(body, step, pointer)
            else:
                self.call_product(body, step.value, pointer)
        self.texts.append(
            f"define void @{name}(ptr %table) #0 {{\nentry:\n" + "\n".join(body.lines) + "\n  ret void\n}"
        )

    def call_nest(self, body, step, pointer):
        name, bases, threads, size = self.nest(step)
        registers = [pointer(b) for b in bases]
        args = [f"ptr {r}" for r in registers]
        if threads == 1:
            body.lines.append(f"  call void @{name}({', '.join([*args, 'i64 0', f'i64 {size}'])})")
            return
        self.declared[RUN] = f"declare void @{RUN}(ptr, ptr, i64)"
        row = body.add(f"alloca [{len(args)} x ptr]")
        for k, r in enumerate(registers):
            body.lines.append(f"  store ptr {r}, ptr {body.add(f'getelementptr ptr, ptr {row}, i64 {k}')}")
        body.lines.append(f"  call void @{RUN}(ptr @{name}_work, ptr {row}, i64 {threads})")

    def call_product(self, body, value, pointer):
        """Matrix products: all of the batch at once, or by BLAS one after the other."""
        a, b = self.plan.operands[value]
        single = value.dtype.itemsize == 4
        kind = "f4" if single else "f8"
        function, t = self.products[0 if single else 1], "float" if single else "double"
        self.declared[function] = (
            f"declare void @{function}(i32, i32, i32, i64, i64, i64, {t}, ptr, i64, ptr, i64, {t}, ptr, i64)"
        )
        n, k = value.args[0].shape[-2:]
        m = value.args[1].shape[-1]
        flag_a, lead_a = _storage(a.strides[-2:], n, k)
        flag_b, lead_b = _storage(b.strides[-2:], k, m)
        batch, out = value.shape[:-2], contiguous(value.shape)
        pointers = [pointer(a.base), pointer(b.base), pointer(value)]
        one, zero = literal(1, kind), literal(0, kind)
        batch, strides = merged(batch, [a.strides[:-2], b.strides[:-2], out[:-2]])

        def located(places):
            at = []
            for p, place, offset in zip(pointers, places, (a.offset, b.offset, 0), strict=True):
                if offset:
                    place = body.add(f"add i64 {place}, {offset}")
                at.append(p if place == "0" else body.add(f"getelementptr {t}, ptr {p}, i64 {place}"))
            return at

        def together(places):
            inner = [[*s[-2:], *x.strides[-2:]] for s, x in zip(strides, (a, b), strict=False)]
            inner.append([*strides[2][-2:], *out[-2:]])
            numbers = product.numbers(kind, (n, m, k), *inner, batch[-2:], self.threads)
            for place, x in enumerate([*numbers, *located(places)]):
                to = body.add(f"getelementptr i64, ptr %numbers, i64 {place}")
                body.lines.append(f"  store {'ptr' if type(x) is str else 'i64'} {x}, ptr {to}")
            body.lines.append(f"  call void @{name}(ptr %numbers)")

        if product.suits(n, m, k):
            name = product.symbol(kind)
            self.declared[name] = f"declare void @{name}(ptr)"
            self.batches(body, batch[:-2], [s[:-2] for s in strides], ["0", "0", "0"], together)
            return

        def call(places):
            at = located(places)
            body.lines.append(
                f"  call void @{function}(i32 101, i32 {flag_a}, i32 {flag_b}, i64 {n}, i64 {m}, i64 {k}, {t} {one}, ptr {at[0]}, "
                f"i64 {lead_a}, ptr {at[1]}, i64 {lead_b}, {t} {zero}, ptr {at[2]}, i64 {m})"
            )

        self.batches(body, batch, strides, ["0", "0", "0"], call)

    def batches(self, body, sizes, strides, places, call):
        if not sizes:
            call(places)
            return
        body.count += 1
        n = body.count
        body.lines += [f"  br label %pre{n}", f"pre{n}:", f"  br label %loop{n}", f"loop{n}:",
                       f"  %i{n} = phi i64 [ 0, %pre{n} ], [ %n{n}, %latch{n} ]"]  # fmt: skip
        inner = []
        for place, stride in zip(places, strides, strict=True):
            part = body.add(f"mul i64 %i{n}, {stride[0]}")
            inner.append(body.add(f"add i64 {place}, {part}"))
        self.batches(body, sizes[1:], [s[1:] for s in strides], inner, call)
        body.lines += [f"  br label %latch{n}", f"latch{n}:", f"  %n{n} = add i64 %i{n}, 1",
                       f"  %c{n} = icmp slt i64 %n{n}, {sizes[0]}", f"  br i1 %c{n}, label %loop{n}, label %exit{n}",
                       f"exit{n}:"]  # fmt: skip

    def module(self):
        attributes = 'attributes #0 = { nounwind "no-trapping-math"="true" }\n'
        attributes += 'attributes #1 = { nounwind noinline "no-trapping-math"="true" }'
        notes = ['!0 = !{!"llvm.loop.unroll.disable"}', '!1 = !{!"llvm.loop.vectorize.enable", i1 true}']
        notes += [f"!{n} = distinct !{{!{n}, !0, !1}}" for n in range(2, len(self.functions) + 2)]
        return "\n\n".join([*self.texts, *self.declared.values(), attributes, *notes]) + "\n"


def _storage(strides, rows, columns):
    """BLAS's words for a matrix in memory: (transposed or not, distance of its rows)."""
    down, right = strides
    if (right == 1 or columns == 1) and (down >= columns or rows == 1):
        return 111, max(down if rows > 1 else columns, columns, 1)
    return 112, max(right if columns > 1 else rows, rows, 1)
