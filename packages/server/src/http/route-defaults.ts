/** Parts of the API document that all routes with a workspace key share: their group, and how to authenticate. */
export const routeDefaults = (tag: string): { tags: string[]; security: { workspaceKey: string[] }[] } => ({
  tags: [tag],
  security: [{ workspaceKey: [] }],
});
