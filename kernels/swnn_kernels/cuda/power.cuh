// A power, without rounding where the exponent is 0, 1 or 2.

__device__ double power(double base, double exponent) {
    if (exponent == 0) {
        return 1.0;
    }
    if (exponent == 1) {
        return base;
    }
    return exponent == 2 ? base * base : pow(base, exponent);
}
