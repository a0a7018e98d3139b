"""Strides, offsets and shapes through every view, and what views refuse."""


def main(torch):
    x = torch.arange(24).reshape(2, 3, 4)
    views = [
        x.T if x.dim() == 2 else x.mT,
        x.permute(2, 0, 1),
        x.transpose(0, 2),
        x[:, 1],
        x[..., ::2],
        x[1, :, 1:3],
        x[None, :, None],
        x.view(6, 4),
        x.view(-1, 2),
        x.reshape(4, 6),
        x.permute(2, 0, 1).reshape(4, 6),
        x.flatten(1),
        x.unflatten(2, (2, 2)),
        x.expand(5, 2, 3, 4),
        x[:, :1].expand(2, 3, 4),
        x.diagonal(dim1=1, dim2=2),
        x.diagonal(1, 0, 2),
        x.unfold(2, 2, 1),
        x.narrow(1, 1, 2),
        x.select(2, -1),
        x.unsqueeze(1).squeeze(),
        x.movedim(0, -1),
        x.as_strided((2, 2), (5, 7), 3),
        *x.split(2, 1),
        *x.chunk(2, 2),
        *x.unbind(1),
        x.permute(1, 0, 2).contiguous(),
        x.permute(1, 0, 2).clone(),
        torch.zeros_like(x.permute(1, 0, 2)),
        x[:, [2, 0]],
        x.flip(1),
        x.roll(1, 2),
        x.repeat(1, 2, 1),
    ]
    print([view.is_contiguous() for view in views])
    print([view.data_ptr() - x.data_ptr() for view in views if view._is_view()])
    refused = [
        lambda: x.permute(1, 0, 2).view(24),
        lambda: x.view(5, 5),
        lambda: x.view(-1, -1),
        lambda: x.view(-1, 7),
        lambda: x.expand(3, 3, 4),
        lambda: x.expand(4),
        lambda: x.transpose(0, 3),
        lambda: x.permute(0, 1, 1),
        lambda: x.squeeze(5),
        lambda: x.unsqueeze(5),
        lambda: x.narrow(0, 1, 2),
        lambda: x.split([1, 1], 1),
        lambda: x.t(),
        lambda: x.unfold(0, 3, 1),
        lambda: x.flatten(2, 0),
        lambda: x.as_strided((30,), (1,)),
    ]
    return [*views, *refused]
