"""Fitted results that people use after a study: scalers, encoders, models."""
