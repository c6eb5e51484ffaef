"""Tests; with this file the folder wins over a top-level ``tests`` of another package, such as pyglossary."""
