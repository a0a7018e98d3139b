"""Writes that the engine must refuse, and the state they leave."""


def main(torch):
    x = torch.ones(4, requires_grad=True)

    def leaf():
        x.add_(1)

    def view_of_leaf():
        x[1:].zero_()

    def index_of_leaf():
        x[torch.tensor([0])] = 5.0

    def one_of_many():
        (x * 1).split(2)[0].mul_(2)

    def one_of_many_later():
        y = x * 1
        first, _ = y.unbind(0)[:2]
        y.mul_(2)
        return first + 1

    def needed_result():
        y = x.exp()
        y.add_(1)
        y.sum().backward()

    def needed_operand():
        y = x * 1
        z = y * y
        y[0] = 5
        z.sum().backward()

    def needed_constant():
        constant = torch.ones(4)
        z = x * constant
        constant.zero_()
        z.sum().backward()

    def made_without_recording():
        with torch.no_grad():
            view = x[:2]
        view.mul_(2)

    def out_with_gradients():
        return torch.mul(x, 2, out=torch.empty(4))

    def wrong_shape():
        torch.ones(4).add_(torch.ones(2, 4))

    def wrong_dtype():
        torch.ones(4, dtype=torch.int64).mul_(1.5)

    def expanded():
        torch.zeros(1).expand(4).add_(1)

    def shifted():
        y = torch.arange(4.0)
        y[1:].copy_(y[:-1])

    attempts = [leaf, view_of_leaf, index_of_leaf, one_of_many, one_of_many_later, needed_result, needed_operand]
    attempts += [needed_constant, made_without_recording, out_with_gradients, wrong_shape, wrong_dtype, expanded]
    return [*attempts, shifted, x, lambda: x.detach_(), x]
