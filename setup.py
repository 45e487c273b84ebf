"""Packaging of figs_spark; the version is read from the package as text, so nothing is imported."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
PACKAGE = (HERE / "figs_spark" / "__init__.py").read_text("utf-8")
VERSION = re.search(r'^__version__ = "(.+)"$', PACKAGE, re.MULTILINE)
if VERSION is None:
    raise RuntimeError('figs_spark/__init__.py lacks a line of the form __version__ = "1.2.3"')

CONNECT = ["pyspark[connect]>=3.5"]
SHIPPING = ["venv-pack"]  # to a cluster
KERNEL = ["ipykernel", "ipywidgets"]
MLFLOW = ["mlflow-skinny"]  # mlflow itself will do as well, but brings a server
REFERENCES = ["imodels", "scikit-learn", "six"]  # six: imodels needs it and does not ask for it

setup(
    name="figs_spark",
    version=VERSION[1],
    description="Fast Interpretable Greedy-Tree Sums (FIGS) on Apache Spark",
    long_description=(HERE / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    packages=find_packages(include=["figs_spark", "figs_spark.*"]),
    package_data={"figs_spark": ["py.typed", "__init__.pyi"]},
    entry_points={
        "console_scripts": [
            "figs-spark = figs_spark.app.cli:main",
            "figs-spark-task = figs_spark.app.databricks:main",
        ]
    },
    python_requires=">=3.10",
    install_requires=["pyspark>=3.5", "numpy", "pandas<3", "pyarrow", "numba", "tqdm", "pyyaml"],
    extras_require={
        "connect": CONNECT,
        "plot": ["matplotlib"],
        "mlflow": MLFLOW,
        "notebook": ["jupyterlab", "matplotlib", "scikit-learn", *KERNEL, *MLFLOW],
        "test": [
            "pytest",
            "pytest-xdist",
            "chispa",
            "hypothesis",
            "matplotlib",
            "nbclient",
            "nbformat",
            *KERNEL,
            *MLFLOW,
            *REFERENCES,
            *CONNECT,
            *SHIPPING,
        ],
        "dev": ["ruff", "mypy", "build", "types-PyYAML"],
        "bench": ["xgboost", "pygam", "matplotlib", *REFERENCES],
    },
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Healthcare Industry",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
