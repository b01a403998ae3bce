/** The path of a job in the API. */
export const pathOf = ({ queue, id }: { readonly queue: string; readonly id: string }): string =>
  `/queues/${encodeURIComponent(queue)}/jobs/${id}`;
