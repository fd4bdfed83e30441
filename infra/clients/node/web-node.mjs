// The web client in Node.js, which has no EventSource of its own.
import { EventSource } from "eventsource";

import { serve } from "./line.mjs";
import { handlers } from "./web.mjs";

globalThis.EventSource ??= EventSource;

await serve(handlers);
