# SPDX-License-Identifier: Apache-2.0
"""A small Keras training, as it is on any page about Keras: nothing in it knows of profilers."""

import keras
import numpy

keras.utils.set_random_seed(7)
images = numpy.random.rand(2048, 28, 28, 1).astype("float32")
labels = numpy.random.randint(0, 10, 2048)

model = keras.Sequential([
    keras.layers.Input((28, 28, 1)),
    keras.layers.Conv2D(16, 3, activation="relu"),
    keras.layers.MaxPooling2D(),
    keras.layers.Flatten(),
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dense(10, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(images, labels, batch_size=64, epochs=16, verbose=0)
print("epochs", len(history.history["loss"]), "finite", bool(numpy.isfinite(history.history["loss"]).all()))
