"""Failures of the scripted gateway's methods."""


class MethodError(Exception):
    def __init__(self, code, message, details=None, payload=None):
        super().__init__(message)
        self.code, self.message, self.details, self.payload = code, message, details, payload
