// One command per line on stdin, one answer per line on stdout, both JSON; what fails is an answer too.
import { createInterface } from "node:readline";

/** Answers commands with the handler of their name until stdin ends. */
export async function serve(handlers) {
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    let answer;
    try {
      answer = { answer: (await handlers[command.do](command)) ?? null };
    } catch (error) {
      answer = { failed: String(error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  process.exit(0);
}
