// The page that asks for the password, shown in the place of the one that was wanted.

import { post } from "./wire.js";

const form = document.getElementById("login");
const trouble = document.getElementById("trouble");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const password = new FormData(form).get("password");
  const answer = await post("/api/login", { password });
  if (answer.ok) location.reload();
  trouble.textContent = answer.ok ? "" : `${answer.text}.`;
});
