"""A network learns two spirals.

The classic task that no straight line solves. A small network is trained with Adam; a step, with its backward pass
and the update of the parameters, is one native program.
"""

import matplotlib.pyplot as plt
import numpy as np

import wengert as wg
from wengert import nn

rng = np.random.default_rng(0)
angle = 3.0 * np.pi * np.sqrt(rng.uniform(0.02, 1.0, (2, 300)))
arms = np.stack([angle * np.cos(angle), angle * np.sin(angle)], axis=-1) * np.array([1.0, -1.0])[:, None, None]
points = ((arms + 0.25 * rng.standard_normal(arms.shape)) / 10.0).reshape(-1, 2)
labels = np.repeat([0, 1], 300)

model = nn.Sequential(nn.Linear(2, 48, rng=1), nn.Tanh(), nn.Linear(48, 48, rng=2), nn.Tanh(), nn.Linear(48, 2, rng=3))
history = nn.fit(
    model, nn.CrossEntropyLoss(), wg.data.Batches((points, labels), 100, shuffle=True, rng=4),
    wg.optim.Adam(model.parameters(), lr=1e-2), epochs=200, progress=False, metrics=[nn.metrics.accuracy],
)  # fmt: skip
assert history["accuracy"][-1] > 0.97

axis = np.linspace(-1.05, 1.05, 200)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
with wg.no_grad():
    share = wg.softmax(model(grid), axis=-1).numpy()[:, 1].reshape(200, 200)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.contourf(axis, axis, share, np.linspace(0.0, 1.0, 21), cmap="PuOr")
left.scatter(*points.T, c=np.where(labels > 0, "indigo", "darkorange"), s=6, edgecolor="white", linewidth=0.2)
left.set(title=f"accuracy {history['accuracy'][-1]:.1%}", aspect="equal", xticks=[], yticks=[])
right.semilogy(history["loss"])
right.set(title="loss", xlabel="epoch")
plt.show()
