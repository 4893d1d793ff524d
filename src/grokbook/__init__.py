"""The Grokking Book: experiments on delayed generalisation and numerical precision."""

__version__ = "0.1.0"
