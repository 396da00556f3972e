"""`iio:DEVICE`: accelerometer and gyroscope of this device, through Linux' Industrial I/O."""
