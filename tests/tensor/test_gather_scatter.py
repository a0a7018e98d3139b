"""Picking and placing by index: gather, scatter, index_select, masks, and their gradients."""

from subject import needs, torch


def m():
    return torch.arange(6.0).reshape(2, 3)


def test_gather_reads_along_a_dimension():
    assert m().gather(1, torch.tensor([[0], [2]])).tolist() == [[0.0], [5.0]]
    assert m().gather(0, torch.tensor([[1, 0, 1]])).tolist() == [[3.0, 1.0, 5.0]]
    assert torch.gather(m(), 1, torch.tensor([[2, 2, 0, 1]])).tolist() == [[2.0, 2.0, 0.0, 1.0]]


@needs("take_along_dim", "argsort")
def test_take_along_dim_broadcasts():
    assert torch.take_along_dim(m(), torch.tensor([[0], [2]]), 1).tolist() == [[0.0], [5.0]]
    order = m().argsort(1, descending=True)
    assert torch.take_along_dim(m(), order, 1).tolist() == [[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]


def test_index_select_and_take():
    assert m().index_select(1, torch.tensor([2, 0])).tolist() == [[2.0, 0.0], [5.0, 3.0]]
    assert m().take(torch.tensor([[0, 5]])).tolist() == [[0.0, 5.0]]


def test_scatter_writes_along_a_dimension():
    zeros = torch.zeros(2, 3)
    assert zeros.scatter(1, torch.tensor([[0], [2]]), torch.tensor([[5.0], [6.0]])).tolist() == [
        [5.0, 0.0, 0.0],
        [0.0, 0.0, 6.0],
    ]
    assert zeros.scatter(1, torch.tensor([[0], [2]]), 9.0).tolist() == [[9.0, 0.0, 0.0], [0.0, 0.0, 9.0]]
    assert zeros.tolist() == [[0.0] * 3] * 2
    assert zeros.scatter_(1, torch.tensor([[1]]), 4.0) is zeros and zeros[0, 1].item() == 4.0


def test_scatter_add_counts_repeated_places():
    index = torch.tensor([[0, 0], [2, 1]])
    assert torch.zeros(2, 3).scatter_add(1, index, torch.ones(2, 2)).tolist() == [[2.0, 0.0, 0.0], [0.0, 1.0, 1.0]]


@needs("index_add", "index_fill", "index_copy")
def test_index_add_fill_and_copy():
    zeros = torch.zeros(2, 3)
    assert zeros.index_add(0, torch.tensor([0, 0]), torch.ones(2, 3)).tolist() == [[2.0] * 3, [0.0] * 3]
    assert zeros.index_add(0, torch.tensor([1]), torch.ones(1, 3), alpha=3).tolist() == [[0.0] * 3, [3.0] * 3]
    assert zeros.index_fill(1, torch.tensor([1]), 7.0).tolist() == [[0.0, 7.0, 0.0]] * 2
    assert zeros.index_copy(0, torch.tensor([1]), torch.ones(1, 3)).tolist() == [[0.0] * 3, [1.0] * 3]


def test_masks_select_and_fill():
    mask = torch.tensor([True, False, True])
    assert m().masked_select(mask).tolist() == [0.0, 2.0, 3.0, 5.0]
    assert m().masked_fill(mask, -1.0).tolist() == [[-1.0, 1.0, -1.0], [-1.0, 4.0, -1.0]]
    assert m().masked_fill(mask, torch.tensor(8.0))[0].tolist() == [8.0, 1.0, 8.0]


@needs("masked_scatter")
def test_masks_scatter():
    mask = torch.tensor([True, False, True])
    assert torch.zeros(2, 3).masked_scatter(mask, torch.arange(4.0)).tolist() == [[0.0, 0.0, 1.0], [2.0, 0.0, 3.0]]


def test_nonzero():
    assert (m() > 3).nonzero().tolist() == [[1, 1], [1, 2]]
    rows, columns = torch.nonzero(m() > 3, as_tuple=True)
    assert rows.tolist() == [1, 1] and columns.tolist() == [1, 2]
    assert torch.zeros(3).nonzero().shape == (0, 1) and torch.tensor(5.0).nonzero().shape == (1, 0)


def test_the_gradient_of_gather_scatters():
    x = m().requires_grad_()
    weights = torch.tensor([[1.0, 10.0], [100.0, 1000.0]])
    (x.gather(1, torch.tensor([[0, 0], [2, 1]])) * weights).sum().backward()
    assert x.grad.tolist() == [[11.0, 0.0, 0.0], [0.0, 1000.0, 100.0]]


def test_the_gradient_of_scatter_gathers():
    x, values = m().requires_grad_(), torch.ones(2, 1, requires_grad=True)
    y = x.scatter(1, torch.tensor([[0], [2]]), values)
    (y * torch.arange(1.0, 7).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 3.0], [4.0, 5.0, 0.0]]
    assert values.grad.tolist() == [[1.0], [6.0]]


def test_the_gradient_of_scatter_add_is_one_for_both():
    x, values = torch.zeros(3, requires_grad=True), torch.ones(4, requires_grad=True)
    y = x.scatter_add(0, torch.tensor([0, 0, 2, 1]), values)
    (y * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 100.0] and values.grad.tolist() == [1.0, 1.0, 100.0, 10.0]


@needs("index_add")
def test_the_gradient_of_index_add():
    x, values = torch.zeros(2, 2, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    y = x.index_add(0, torch.tensor([1, 1, 0]), values, alpha=2)
    (y * torch.tensor([[1.0, 1.0], [10.0, 10.0]])).sum().backward()
    assert values.grad.tolist() == [[20.0, 20.0], [20.0, 20.0], [2.0, 2.0]]


def test_the_gradients_of_masks():
    mask = torch.tensor([True, False, True])
    x, value = torch.arange(3.0).requires_grad_(), torch.tensor(5.0, requires_grad=True)
    (x.masked_fill(mask, value) * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 0.0] and value.grad.item() == 101.0
    y = torch.arange(3.0).requires_grad_()
    (y.masked_select(mask) * torch.tensor([3.0, 4.0])).sum().backward()
    assert y.grad.tolist() == [3.0, 0.0, 4.0]


def test_the_gradient_of_index_put_accumulating():
    x, values = torch.zeros(3, requires_grad=True), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * 1).index_put((torch.tensor([0, 0, 1]),), values, accumulate=True)
    (y * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 10.0, 100.0] and values.grad.tolist() == [1.0, 1.0, 10.0]
