// The web client in a page: WebDriver calls this with a command and gets its answer.
import { answer } from "./answer.mjs";
import { handlers } from "./web.mjs";

window.tell = (command) => answer(handlers, command);
