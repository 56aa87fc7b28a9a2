"""Importers of models: each turns a foreign format into a module of graph ops."""
