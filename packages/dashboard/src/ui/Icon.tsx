/** Lines on a grid of 16. */
const PATHS = {
  overview: "M2 13.5h12M3.5 11V8M6.5 11V4M9.5 11V6M12.5 11V2.5",
  jobs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  queues: "M2.5 3h11v3h-11zM2.5 10h11v3h-11zM5 6v4M11 6v4",
  deadLetters: "M2.5 4.5h11v8h-11zM2.5 4.5 8 9l5.5-4.5M10.5 1.5l3 3m0-3-3 3",
  approvals: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM5.3 8.2l1.9 1.9 3.5-4",
  schedules: "M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3",
  workflows: "M3 2.5h3v3H3zM10 2.5h3v3h-3zM6.5 10.5h3v3h-3zM4.5 5.5v2.5h7V5.5M8 8v2.5",
  runs: "M2 4h6M4 8h8M8 12h6",
  workers: "M3 3h10v6H3zM8 9v2.5M5 13.5h6M5.5 6h.01M8 6h2.5",
  secrets: "M4 7h8v6.5H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2M8 9.5v1.5",
  keys: "M5.5 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM7.3 8.2 13.5 2M10.5 5l2 2",
  members:
    "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c.5-2.5 2.2-3.5 4.5-3.5s4 1 4.5 3.5M10.5 3.3a2.4 2.4 0 0 1 0 4.4M12 10.3c1.3.4 2.2 1.4 2.5 3.2",
  webhooks: "M6 5a2.2 2.2 0 1 1 3.3 1.9l1.9 3.6M11.5 13.5a2.2 2.2 0 1 0-1.8-3.5M6.8 11.3H4.5a2.2 2.2 0 1 1-.2-4l2-3.4",
  usage: "M8 14A6 6 0 1 1 14 8M8 8l3-3M8 8h6",
  audit: "M4 2h6l3 3v9H4zM9.5 2v3.5H13M6.5 8.5h4M6.5 11h4",
  account: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.7-3 2.7-4 5.5-4s4.8 1 5.5 4",
  operator: "M2.5 13.5v-11h6v11M8.5 6.5h5v7M1.5 13.5h13M5 5.5h1M5 8h1M5 10.5h1M11 9h.01M11 11.3h.01",
  nodes: "M2.5 2h11v3.4h-11zM2.5 6.3h11v3.4h-11zM2.5 10.6h11V14h-11zM5 3.7h.01M5 8h.01M5 12.3h.01",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  chevronDown: "M4 6.5 8 10l4-3.5",
  chevronRight: "M6.5 4 10 8l-3.5 4",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  system: "M2 3h12v8H2zM6 13.5h4M8 11v2.5",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  check: "M3 8.5 6.5 12 13 4.5",
  close: "M4 4l8 8M12 4l-8 8",
  keyboard: "M1.5 4h13v8h-13zM4 6.7h.01M6.7 6.7h.01M9.3 6.7h.01M12 6.7h.01M5 9.5h6",
  retry: "M13 8a5 5 0 1 1-1.5-3.6L13 6M13 2.5V6H9.5",
  stop: "M4 4h8v8H4z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3l7.5 5L5 13z",
  external: "M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11.5 9.5v4h-9v-9h4",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3.5M8 11.8h.01",
  filter: "M2 3.5h12L9.5 8.5v4l-3 1.5V8.5z",
  plus: "M8 3v10M3 8h10",
  trash: "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.7 7v4M9.3 7v4",
  signOut: "M6 2.5H2.5v11H6M10 5l3.5 3L10 11M13.5 8H6",
} as const;

export type IconName = keyof typeof PATHS;

/** An icon. Screen readers ignore it: an element with an icon also has a text or a label. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
