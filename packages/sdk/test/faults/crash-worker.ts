import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { type Logger, Worker } from "@tidemill/sdk";
import { crashWorkflows } from "./crash-workflows.ts";

// A worker as a process of its own, which may be killed at any time. What it executes is written as lines of JSON, each before its effect
// can be stored.

const [, , url = "", key = "", name = ""] = process.argv;
const quiet = () => {};
const error = (message: string, fields: object = {}) => void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
const logger: Logger = { debug: quiet, info: quiet, warn: quiet, error };

const workflows = crashWorkflows((trace) => void writeSync(1, `${JSON.stringify(trace)}\n`), randomUUID);
await new Worker({ url, key, workflows, name, concurrency: 20, leaseSeconds: 2, logger }).run();
