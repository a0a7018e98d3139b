"""REINFORCE learns to balance a pole on a cart by trying.

python examples/cart_pole.py
"""

import math

import tensorgrad as torch
from tensorgrad.show import curve, progress, sparkline

nn, F = torch.nn, torch.nn.functional
MOST_MOVES = 200


class CartPole:
    """A pole stands on a cart, which is pushed left (0) or right (1) fifty times a second."""

    def __init__(self, start):
        self.x, self.speed, self.angle, self.turning = start

    def push(self, action):
        """Push; say whether the pole still stands and the cart is still on its track."""
        force, sine, cosine = (10.0 if action else -10.0), math.sin(self.angle), math.cos(self.angle)
        pull = (force + 0.05 * self.turning**2 * sine) / 1.1
        fall = (9.8 * sine - cosine * pull) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        self.x, self.speed = self.x + 0.02 * self.speed, self.speed + 0.02 * (pull - 0.05 * fall * cosine / 1.1)
        self.angle, self.turning = self.angle + 0.02 * self.turning, self.turning + 0.02 * fall
        return abs(self.x) < 2.4 and abs(self.angle) < 0.21

    def state(self):
        return [self.x, self.speed, self.angle * 5, self.turning]


def build():
    """The network: from what is seen to how much speaks for each push."""
    return nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))


def play(model):
    """One game: what was seen, what was done, and what came of it after each move."""
    game = CartPole(((torch.rand(4) - 0.5) * 0.1).tolist())
    states, actions = [], []
    for _ in range(MOST_MOVES):
        states.append(game.state())
        with torch.no_grad():
            chances = F.softmax(model(torch.tensor(states[-1:])), dim=1)
        actions.append(torch.multinomial(chances, 1).item())
        if not game.push(actions[-1]):
            break
    returns, following = [], 0.0
    for _ in states:
        following = 1 + 0.98 * following
        returns.append(following)
    return states, actions, returns[::-1]


def train(model, steps, games=4):
    """Train; give the loss of each step, and what it was computed of."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(steps):
        played = [play(model) for _ in range(games)]
        states, actions, returns = ([item for game in played for item in game[part]] for part in range(3))
        states, actions, returns = torch.tensor(states), torch.tensor(actions), torch.tensor(returns) / 50
        chosen = F.log_softmax(model(states), dim=1).gather(1, actions.unsqueeze(1)).squeeze(1)
        loss = -(chosen * returns).sum() / games
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item(), (states, actions, returns)


def main(steps=150):
    torch.manual_seed(0)
    model, moves = build(), []
    for _, (states, _, _) in progress(train(model, steps), "cart and pole", total=steps):
        moves.append(len(states) / 4)
    page = curve(moves, title="REINFORCE balances a pole", y_label="moves a game", facts={"most": MOST_MOVES})
    print(
        f"moves a game  {sparkline(moves, 40)}  {moves[0]:.0f} to {sum(moves[-10:]) / len(moves[-10:]):.0f}, of {MOST_MOVES}"
    )
    print(f"wrote         {page.save('cart_pole.html')}")


if __name__ == "__main__":
    main()
