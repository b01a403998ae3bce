import { CountJobs, FoundJobs, JobCount, ListAllJobs } from "@tidemill/contract";
import { type Api, JSON_TYPE, jsonItems, jsonText, readPage, replies, routeDefaults, workspaceOf } from "#http";
import { cutPage, PAGE_RESPONSE_BYTES, type Tenants } from "#kernel";
import { readJobId, showJob, showJobId } from "./job.ts";
import { countJobs, findJobs, momentOfId, prepareSearch } from "./search.ts";

const { tags, security } = routeDefaults("Jobs");

/** Mounts the list of the jobs of all queues, and their count. Source: contract §13. */
export function mountSearch(api: Api, tenants: Tenants): void {
  api.get(
    "/v1/jobs",
    {
      config: { access: "read", responseBytes: PAGE_RESPONSE_BYTES },
      schema: {
        tags,
        security,
        summary: "List the jobs of all queues",
        description:
          "Returns jobs of all queues, live and finished, newest first, that match every given filter. " +
          "A page ends early, even without records, after 10,000 jobs or 32 MiB of payloads that the filters left out, or with 4 MiB of " +
          "payloads and results. `searched_until` says how far a search got. Only a `next_cursor` of null means the end.",
        operationId: "listAllJobs",
        querystring: ListAllJobs,
        response: replies({ 200: FoundJobs }),
      },
    },
    async (request, reply) => {
      const { limit: _, cursor: __, ...filter } = request.query;
      const page = readPage(request.query, readJobId);
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      const search = await prepareSearch(db, workspaceId, filter);
      const found = search === null ? [] : await findJobs(db, search, page.after, page.limit + 1);
      const { records, next } = cutPage(found, page.limit, ({ id }) => id);
      const endsEarly = next !== null && next === found[0]?.reached;
      return reply
        .type(JSON_TYPE)
        .send(
          jsonText([
            `{"data":[`,
            ...jsonItems(records.map((job) => showJob(job, job.queue))),
            `],"next_cursor":${next === null ? "null" : `"${showJobId(next)}"`},`,
            `"searched_until":${endsEarly ? `"${momentOfId(next)}"` : "null"}}`,
          ]),
        );
    },
  );

  api.get(
    "/v1/jobs/count",
    {
      config: { access: "read" },
      schema: {
        tags,
        security,
        summary: "Count the jobs of all queues",
        description:
          "Returns how many jobs match the filters of `GET /v1/jobs`. It reads at most 50,000 jobs: if there are more to read, `exact` is " +
          "false, and `count` is a lower bound.",
        operationId: "countJobs",
        querystring: CountJobs,
        response: replies({ 200: JobCount }),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const db = tenants.of(workspaceId);
      return countJobs(db, await prepareSearch(db, workspaceId, request.query));
    },
  );
}
