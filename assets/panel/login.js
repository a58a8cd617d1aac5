// The login page, shown in place of the requested one.

import { logIn } from "./wire.js";

const form = document.getElementById("login");
const trouble = document.getElementById("trouble");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const password = new FormData(form).get("password");
  const answer = await logIn({ password });
  if (answer.ok && location.pathname === "/login") location.assign("/");
  else if (answer.ok) location.reload();
  trouble.textContent = answer.ok ? "" : `${answer.text}.`;
});
