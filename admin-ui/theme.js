// Sets the chosen theme before the first paint; without a choice the system decides.
(() => {
  try {
    const theme = localStorage.getItem("fluxgate.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be blocked; then the system's theme stays.
  }
})();
