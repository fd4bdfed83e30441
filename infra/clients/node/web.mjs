// The official web client, as a page would use it; the same in Node.js and in a browser.
import { OpenFeature, ProviderEvents } from "@openfeature/web-sdk";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";

import { ask } from "./details.mjs";

const EVENTS_MAX = 1000;
const events = [];

for (const event of Object.values(ProviderEvents)) {
  OpenFeature.addHandler(event, (details) => {
    events.push({ event, flags: details?.flagsChanged ?? [], message: details?.message ?? null });
    events.splice(0, events.length - EVENTS_MAX);
  });
}

export const handlers = {
  /** Fails when the provider does not become ready, and says why. */
  async connect({ edge, headers, context, options }) {
    await OpenFeature.setContext(context ?? {});
    const provider = new OFREPWebProvider({ baseUrl: edge, headers: Object.entries(headers), ...options });
    await OpenFeature.setProviderAndWait(provider);
  },
  /** In a web client the context is the page's: who is signed in. */
  async become({ context }) {
    await OpenFeature.setContext(context);
  },
  ask({ flag, type, fallback }) {
    return ask(OpenFeature.getClient(), { flag, type, fallback });
  },
  status: async () => OpenFeature.getClient().providerStatus,
  /** What happened since the last time. */
  events: async () => events.splice(0),
};
