/** A page of a list, newest first. */
export interface Page<Item> {
  readonly data: Item[];
  /** The `cursor` of the next page; null at the end of the list, and only there. */
  readonly next_cursor: string | null;
}

interface Paged {
  readonly cursor?: string;
}

/**
 * A list of the API. Await it to get one page. Iterate it with `for await` to get all records from that page on, page by page.
 *
 * ```ts
 * const { data, next_cursor } = await tidemill.queues.list({ limit: 100 });
 * for await (const queue of tidemill.queues.list()) console.log(queue.name);
 * ```
 */
export class List<Item, Query extends Paged> implements PromiseLike<Page<Item>>, AsyncIterable<Item> {
  readonly #read: (query: Query) => Promise<Page<Item>>;
  readonly #query: Query;

  constructor(read: (query: Query) => Promise<Page<Item>>, query: Query) {
    this.#read = read;
    this.#query = query;
  }

  // biome-ignore lint/suspicious/noThenProperty: a list is awaited for its first page.
  then<Kept = Page<Item>, Caught = never>(
    kept?: ((page: Page<Item>) => Kept | PromiseLike<Kept>) | null,
    caught?: ((reason: unknown) => Caught | PromiseLike<Caught>) | null,
  ): Promise<Kept | Caught> {
    return this.#read(this.#query).then(kept, caught);
  }

  /** The pages, from this one on. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    for (let query: Query | null = this.#query; query !== null; ) {
      const page: Page<Item> = await this.#read(query);
      yield page;
      query = page.next_cursor === null ? null : { ...query, cursor: page.next_cursor };
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* data;
  }
}
