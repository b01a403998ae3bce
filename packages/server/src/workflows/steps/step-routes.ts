import { LIMITS, ReportedSteps, RunPath, StepReports, StepReportsStored, StepsStored } from "@tidemill/contract";
import { type Api, replies, routeDefaults, workspaceOf } from "#http";
import { invalid, ProblemError, problem, type RunId, unavailable } from "#kernel";
import { readRunId, runNotFound } from "../runs/run.ts";
import { findRun } from "../runs/run-store.ts";
import { readProgress } from "./progress.ts";
import { readSteps } from "./report-steps.ts";
import { type Report, type StoreReports, storeReport } from "./store-report.ts";

const { tags, security } = routeDefaults("Runs");

type Stored = StepReportsStored["reports"][number];

/** Mounts how programs report the steps of runs. Source: docs/run-protocol.md. */
export function mountSteps(api: Api, deps: StoreReports): void {
  api.post(
    "/v1/runs/:id/steps",
    {
      bodyLimit: LIMITS.batchBodyBytes,
      config: { access: "worker", rawMember: "output", rawList: "steps", overLimit: "reports" },
      schema: {
        tags,
        security,
        summary: "Report steps of a run",
        description:
          "Stores steps of a run that the worker executes, and what its code says about its progress. A step that the journal has is left as it " +
          "is, so the call may be repeated. `LEASE_LOST` means that the worker no longer executes the run (docs/run-protocol.md).",
        operationId: "reportSteps",
        params: RunPath,
        body: ReportedSteps,
        response: replies({ 200: StepsStored }, "NOT_FOUND", "LEASE_LOST", "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { id } = request.params;
      const { steps = [] } = request.body;
      const stored = await storeReport(deps, request, workspaceId, readReport({ ...request.body, id, steps }, "steps"));
      if (stored !== null) return stored;
      const run = await findRun(deps.tenants.of(workspaceId), { workspaceId, id: readRunId(id) as RunId });
      throw run ? problem("LEASE_LOST") : runNotFound(id);
    },
  );

  api.post(
    "/v1/work/steps",
    {
      bodyLimit: LIMITS.batchBodyBytes,
      config: { access: "worker", rawMember: "output", rawList: "steps", overLimit: "reports" },
      schema: {
        tags,
        security,
        summary: "Report steps of several runs",
        description:
          "Stores steps of runs that the worker executes, as `POST /v1/runs/:id/steps` does for one run. Each report is stored or refused by " +
          "itself: the response says which. The call may be repeated.",
        operationId: "reportStepsOfRuns",
        body: StepReports,
        response: replies({ 200: StepReportsStored }, "PAYLOAD_TOO_LARGE"),
      },
    },
    async (request) => {
      const workspaceId = workspaceOf(request);
      const { reports, steps = [] } = request.body;
      const lost = steps.findIndex(({ report }) => report >= reports.length);
      if (lost >= 0) throw invalid(`steps[${lost}].report`, `must be the place of a report, from 0 to ${reports.length - 1}`);
      const stepsOf = Map.groupBy(steps, ({ report }) => report);
      const stored = reports.map(async (report, at): Promise<Stored> => {
        const { id } = report;
        try {
          const kept = await storeReport(deps, request, workspaceId, readReport({ ...report, steps: stepsOf.get(at) ?? [] }, "steps"));
          if (kept === null) throw problem("LEASE_LOST");
          return { id, ok: true, ...kept, code: null, message: null, details: {} };
        } catch (error) {
          return { id, ok: false, steps: null, ...refusalOf(error) };
        }
      });
      const all = await Promise.all(stored);
      // The worker then repeats the call instead of each report.
      if (all.every(({ code }) => code === "UNAVAILABLE")) throw unavailable(all[0]?.message ?? undefined);
      return { reports: all };
    },
  );
}

/** @throws VALIDATION_ERROR, PAYLOAD_TOO_LARGE */
function readReport(
  { id, lease_token, steps, progress }: ReportedSteps & { readonly id: string; readonly steps: NonNullable<ReportedSteps["steps"]> },
  path: string,
): Report {
  const read = readSteps(steps, path);
  const said = progress === undefined ? null : readProgress(progress);
  if (read.length === 0 && said === null) throw invalid(path, "is required, or progress instead");
  return { id, lease_token, steps: read, progress: said };
}

/** What is wrong with one report. Everything else fails the call. */
function refusalOf(error: unknown): Pick<Stored, "code" | "message" | "details"> {
  const { code, message, details } = error instanceof ProblemError ? error : { code: null, message: "", details: {} };
  switch (code) {
    case "LEASE_LOST":
    case "VALIDATION_ERROR":
    case "PAYLOAD_TOO_LARGE":
    case "UNAVAILABLE":
      return { code, message, details };
    default:
      throw error;
  }
}
