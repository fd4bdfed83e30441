// Starts the app; a file of its own because the content policy allows no inline script.
import start from "{{js}}";

start({ module_or_path: "{{wasm}}" }).catch((error) => {
  const app = document.getElementById("app");
  const text = document.createElement("p");
  text.className = "starting";
  text.setAttribute("role", "alert");
  text.textContent = "FluxGate could not start: " + error + ". Reload the page, or use a current browser.";
  app.replaceChildren(text);
});
