"""A network of two layers with a cross entropy written out, trained with momentum."""


def main(torch):
    x = torch.rand(32, 2) * 2 - 1
    labels = ((x[:, 0] * x[:, 1]) > 0).long()
    parameters = [torch.randn(2, 16) * 0.5, torch.zeros(16), torch.randn(16, 2) * 0.25, torch.zeros(2)]
    for parameter in parameters:
        parameter.requires_grad_()
    momentum = [torch.zeros_like(parameter) for parameter in parameters]

    def logits(x):
        first, first_bias, second, second_bias = parameters
        return torch.relu(x @ first + first_bias) @ second + second_bias

    history = []
    for step in range(60):
        log_probabilities = torch.log_softmax(logits(x), dim=1)
        loss = -log_probabilities.gather(1, labels.unsqueeze(1)).mean()
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, speed, gradient in zip(parameters, momentum, gradients, strict=True):
                speed.mul_(0.9).add_(gradient)
                parameter.sub_(speed, alpha=0.1)
        history.append(loss.item())
        if step % 20 == 0:
            correct = (logits(x).argmax(1) == labels).float().mean()
            print(f"{step:3d} {loss.item():.3f} {correct.item():.2f}")
    print(f"{history[-1]:.3f}")
    return [labels, parameters[0], parameters[3], momentum[1], log_probabilities[:2], history[-1] < history[0]]
