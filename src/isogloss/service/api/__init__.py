"""The JSON API: routes by resource, request and response bodies, errors.

=============  =====================================================
``routes``     the endpoints of ``/api/v1``, one module per resource
``schemas``    pydantic models of request and response bodies
``errors``     the error body, and handlers that produce it
=============  =====================================================
"""
