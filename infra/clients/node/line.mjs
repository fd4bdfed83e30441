// One command per line on stdin, one answer per line on stdout, both JSON.
import { createInterface } from "node:readline";

import { answer } from "./answer.mjs";

/** Answers commands until stdin ends. */
export async function serve(handlers) {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(handlers, JSON.parse(line))) + "\n");
  }
  // What the client keeps open would hold the process back.
  process.exit(0);
}
