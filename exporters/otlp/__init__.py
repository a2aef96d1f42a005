"""OTLP: the metrics of the page, pushed to an OpenTelemetry endpoint. Needs the extra `otlp`."""
