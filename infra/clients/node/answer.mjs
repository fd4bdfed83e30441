/** Lets the handler of its name answer a command; what fails is an answer too. */
export async function answer(handlers, command) {
  try {
    return { answer: (await handlers[command.do](command)) ?? null };
  } catch (error) {
    return { failed: String(error) };
  }
}
