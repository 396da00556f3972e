"""`sensorlogger:...`: a phone that sends its sensors over MQTT or HTTP."""
