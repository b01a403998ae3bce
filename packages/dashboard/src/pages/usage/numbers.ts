const COUNT = new Intl.NumberFormat("en");

/** `1,234,567`. */
export const showCount = (count: number): string => COUNT.format(count);

/** `12.5 %`; a dash if the total is zero. */
export const showPart = (part: number, whole: number): string => (whole === 0 ? "–" : `${((part / whole) * 100).toFixed(1)} %`);
