import { createTheme, type MantineColorsTuple } from "@mantine/core";

const tide: MantineColorsTuple = [
  "#e6f7f9",
  "#cdebef",
  "#9cd8df",
  "#68c3ce",
  "#3fb2bf",
  "#1f9fae",
  "#0e8797",
  "#0b7080",
  "#095a67",
  "#06434d",
];

/** Neutral, slightly cool. Index 7 is the page in the dark. */
const dark: MantineColorsTuple = [
  "#d5dae1",
  "#b3bbc6",
  "#8d97a5",
  "#5f6a79",
  "#3a4450",
  "#29313b",
  "#1d242c",
  "#141a20",
  "#0f1419",
  "#0a0e12",
];

/** Dense: an on-call person sees many rows at once. */
export const theme = createTheme({
  primaryColor: "tide",
  primaryShade: { light: 7, dark: 7 },
  colors: { tide, dark },
  autoContrast: true,
  luminanceThreshold: 0.19,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.25rem" },
  defaultRadius: "md",
  radius: { xs: "3px", sm: "4px", md: "6px", lg: "8px", xl: "12px" },
  spacing: { xs: "0.5rem", sm: "0.75rem", md: "1rem", lg: "1.25rem", xl: "2rem" },
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "1.25rem" }, h2: { fontSize: "1rem" }, h3: { fontSize: "0.875rem" } } },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: "xs", variant: "default" } },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray" } },
    TextInput: { defaultProps: { size: "sm" } },
    PasswordInput: { defaultProps: { size: "sm" } },
    Textarea: { defaultProps: { size: "sm" } },
    Select: { defaultProps: { size: "sm" } },
    NumberInput: { defaultProps: { size: "sm" } },
    Modal: { defaultProps: { centered: true, transitionProps: { duration: 0 } } },
    // Without the placeholder, which has no place in a menu, its first item gets the focus.
    Menu: { defaultProps: { transitionProps: { duration: 0 }, shadow: "md", withInitialFocusPlaceholder: false } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: false, events: { hover: true, focus: true, touch: true } } },
  },
});
