"""The gradient of flip is a view of what arrived, which may be one number seen many times: nothing may be added into it."""


def test_a_flipped_sum_beside_other_gradients(torch):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = x.clone()
    y[:1] = 1.5
    (x.flip(0).sum() ** 2 + (y * y).sum()).backward()
    assert x.grad.tolist() == [20, 24, 26, 28]
