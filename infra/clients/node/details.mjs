// What a JavaScript client is asked and how its answer is told, for the server's and the web's alike.

const METHODS = {
  boolean: "getBooleanDetails",
  string: "getStringDetails",
  integer: "getNumberDetails",
  float: "getNumberDetails",
  object: "getObjectDetails",
};

/** Asks for a flag of a type; a web client has its context already. */
export async function ask(client, { flag, type, fallback, context }) {
  const rest = context === undefined ? [] : [context];
  const found = await client[METHODS[type]](flag, fallback, ...rest);
  return {
    value: found.value,
    variant: found.variant ?? null,
    reason: found.reason ?? null,
    error: found.errorCode ?? null,
    message: found.errorMessage ?? null,
    metadata: found.flagMetadata ?? {},
  };
}
