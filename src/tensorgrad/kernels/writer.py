"""A whole program in LLVM's language: functions of nests, each once, and functions that run a list of steps."""

from tensorgrad.kernels import product
from tensorgrad.kernels.emit import LOOP, THREADS_FROM, Nest
from tensorgrad.kernels.mathematics import Body, literal
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
                self.texts.append(self.thread(name, len(bases)))
        return name, bases, threads, nest.sizes[0] if nest.sizes else 1

    def thread(self, name, count):
        """The function that a second thread starts in: it takes its arguments out of a row of numbers."""
        lines = []
        for n in range(count + 2):
            lines.append(f"  %a{n} = getelementptr i64, ptr %row, i64 {n}")
            lines.append(f"  %v{n} = load {'ptr' if n < count else 'i64'}, ptr %a{n}")
        args = ", ".join([*[f"ptr %v{n}" for n in range(count)], f"i64 %v{count}", f"i64 %v{count + 1}"])
        return (
            f"define internal ptr @{name}_thread(ptr %row) #0 {{\n"
            + "\n".join(lines)
            + f"\n  call void @{name}({args})\n  ret ptr null\n}}"
        )

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
        self.declared["pthread_create"] = "declare i32 @pthread_create(ptr, ptr, ptr, ptr)"
        self.declared["pthread_join"] = "declare i32 @pthread_join(i64, ptr)"
        bounds = [size * n // threads for n in range(threads + 1)]
        started = []
        for n in range(1, threads):
            row = body.add(f"alloca [{len(args) + 2} x i64]")
            for k, r in enumerate(registers):
                body.lines.append(f"  store ptr {r}, ptr {body.add(f'getelementptr i64, ptr {row}, i64 {k}')}")
            for k, bound in ((len(args), bounds[n]), (len(args) + 1, bounds[n + 1])):
                body.lines.append(f"  store i64 {bound}, ptr {body.add(f'getelementptr i64, ptr {row}, i64 {k}')}")
            handle = body.add("alloca i64")
            failed = body.add(f"call i32 @pthread_create(ptr {handle}, ptr null, ptr @{name}_thread, ptr {row})")
            started.append((handle, failed, bounds[n], bounds[n + 1]))
        body.lines.append(f"  call void @{name}({', '.join([*args, 'i64 0', f'i64 {bounds[1]}'])})")
        for handle, failed, low, high in started:
            body.count += 1
            n = body.count
            body.lines += [
                f"  %ok{n} = icmp eq i32 {failed}, 0", f"  br i1 %ok{n}, label %join{n}, label %self{n}", f"join{n}:",
                f"  %h{n} = load i64, ptr {handle}", f"  call i32 @pthread_join(i64 %h{n}, ptr null)", f"  br label %on{n}",
                f"self{n}:", f"  call void @{name}({', '.join([*args, f'i64 {low}', f'i64 {high}'])})",
                f"  br label %on{n}", f"on{n}:",
            ]  # fmt: skip

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
