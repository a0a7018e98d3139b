"""Whole numbers and truth values: a glider, bits, and exact arithmetic."""


def main(torch):
    board = torch.zeros(8, 8, dtype=torch.uint8)
    for row, column in ((0, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
        board[row, column] = 1
    boards = [board]
    for _ in range(6):
        around = sum(
            board.roll((down, right), (0, 1)) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)
        )
        board = ((around == 3) | ((around == 2) & (board == 1))).to(torch.uint8)
        boards.append(board)
    for row in board.tolist():
        print("".join("#" if cell else "." for cell in row))
    numbers = torch.arange(1, 13)
    bits = (numbers[:, None] >> torch.arange(4)) & 1
    sieve = torch.ones(50, dtype=torch.bool)
    sieve[:2] = False
    for candidate in range(2, 8):
        if sieve[candidate]:
            sieve[candidate * candidate :: candidate] = False
    fibonacci = torch.tensor([[1, 1], [1, 0]])
    power = torch.eye(2, dtype=torch.int64)
    for _ in range(60):
        power = power @ fibonacci
    return [
        *boards,
        around,
        bits,
        bits.sum(1),
        sieve.nonzero().squeeze(1),
        power,
        numbers.prod(),
        numbers // 5,
        numbers % 5,
        -numbers // 5,
        -numbers % 5,
        numbers ^ 5,
        ~numbers,
        numbers << 2,
        (numbers > 3) & (numbers < 9),
        numbers.float().mean(),
        torch.tensor([250], dtype=torch.uint8) + 10,
        torch.tensor([120], dtype=torch.int8) * 2,
        lambda: numbers // torch.zeros(12, dtype=torch.int64),
    ]
