"""Packaging of figs_spark; the version is read from the package as text, so nothing is imported."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
PACKAGE = (HERE / "figs_spark" / "__init__.py").read_text("utf-8")
VERSION = re.search(r'^__version__ = "(.+)"$', PACKAGE, re.MULTILINE)
if VERSION is None:
    raise RuntimeError('figs_spark/__init__.py lacks a line of the form __version__ = "1.2.3"')

# Lower bounds are the versions that have what is used here: pandas and pyarrow those that PySpark 4
# itself asks for, numba and numpy the first for Python 3.11, of tools the options they are called
# with. No upper bound is needed for PySpark 3.5: figs_spark was run on 3.5.9 with NumPy 2.4 and
# pyarrow 26. Its distutils is gone from Python 3.12, and setuptools brings it. See constraints.txt
# for versions that are known to work together.
RUNTIME = [
    "pyspark>=3.5",
    "setuptools>=65; python_version >= '3.12'",
    "numpy>=1.23.2",
    "pandas>=2.0,<3",
    "pyarrow>=11.0",
    "numba>=0.57",
    "tqdm>=4.62",
    "pyyaml>=6.0",
]
CONNECT = ["pyspark[connect]>=3.5"]
PLOT = ["matplotlib>=3.6"]
SHIPPING = ["venv-pack>=0.2"]  # to a cluster
KERNEL = ["ipykernel>=6", "ipywidgets>=8"]
MLFLOW = ["mlflow-skinny>=2.22"]  # mlflow itself will do as well, but brings a server
REFERENCES = ["imodels>=2", "scikit-learn>=1.2", "six"]  # six: imodels needs it and does not ask
ONNX = ["onnx>=1.17"]  # the first with TreeEnsemble, whose models onnxruntime 1.20 and later run
ENGINES = [  # in which exports are run
    "duckdb>=1.1",
    "sqlglot>=26",
    "onnxruntime>=1.20",
    "jpmml_evaluator>=0.12",
    "psycopg[binary]>=3.2",
]
BROWSER = ["playwright>=1.40"]  # drives the Chromium that is installed, and brings none
EVALUATION = ["dcurves>=1.1", "statsmodels>=0.14"]  # what evaluations are compared with
DOCS = ["mkdocs>=1.6,<2", "mkdocs-material>=9.5", "mkdocstrings[python]>=0.26"]

setup(
    name="figs_spark",
    version=VERSION[1],
    description="Fast Interpretable Greedy-Tree Sums (FIGS) on Apache Spark",
    long_description=(HERE / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    packages=find_packages(include=["figs_spark", "figs_spark.*"]),
    package_data={
        "figs_spark": ["py.typed", "__init__.pyi"],
        "figs_spark.exports.page": ["*.css", "*.js"],
        "figs_spark.treesum": ["code_tables/*.txt"],
        "figs_spark.inspection": ["*.css"],
    },
    entry_points={
        "console_scripts": [
            "figs-spark = figs_spark.app.cli:main",
            "figs-spark-task = figs_spark.app.databricks:main",
        ]
    },
    python_requires=">=3.10",
    install_requires=RUNTIME,
    extras_require={
        "connect": CONNECT,
        "plot": PLOT,
        "mlflow": MLFLOW,
        "onnx": ONNX,
        "notebook": ["jupyterlab>=4", "scikit-learn>=1.2", *PLOT, *KERNEL, *MLFLOW],
        "docs": DOCS,
        "test": [
            "pytest>=7.4",
            "pytest-timeout>=2.3",
            "pytest-xdist>=3.8",  # --no-loadscope-reorder
            "chispa>=0.9",
            "databricks-bundles>=1.0",  # the types of what databricks.yml asks for
            "hypothesis>=6.80",
            "nbclient>=0.8",
            "nbformat>=5.7",
            *PLOT,
            *DOCS,
            *ONNX,
            *ENGINES,
            *KERNEL,
            *MLFLOW,
            *REFERENCES,
            *CONNECT,
            *SHIPPING,
            *BROWSER,
            *EVALUATION,
        ],
        "dev": ["ruff>=0.9", "mypy>=1.10", "build>=1.0", "types-PyYAML>=6.0", "pre-commit>=3.0"],
        "bench": ["xgboost>=2.0", "pygam>=0.9", "interpret-core>=0.6", *PLOT, *REFERENCES],
    },
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Healthcare Industry",
        "Intended Audience :: Science/Research",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
