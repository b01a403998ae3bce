/** What the API document says of each route that needs a workspace key: its group, and the key. */
export const routeDefaults = (tag: string): { tags: string[]; security: { workspaceKey: string[] }[] } => ({
  tags: [tag],
  security: [{ workspaceKey: [] }],
});
