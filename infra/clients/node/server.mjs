// The official server client, as an application would use it.
import { OpenFeature } from "@openfeature/server-sdk";
import { OFREPProvider } from "@openfeature/ofrep-provider";

import { ask } from "./details.mjs";
import { serve } from "./line.mjs";

await serve({
  async connect({ edge, headers }) {
    await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: edge, headers: Object.entries(headers) }));
  },
  ask: (question) => ask(OpenFeature.getClient(), question),
});
