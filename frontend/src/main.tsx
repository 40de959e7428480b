import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createBrowserRouter, RouterProvider } from "react-router";

import { queryClient } from "./app/queryClient";
import { routes } from "./app/routes";
import { applyTheme, chosenTheme } from "./app/theme";
import { preferredLanguage, speak, useLanguage } from "./words/language";
import "./styles/tokens.css";
import "./styles/base.css";

applyTheme(chosenTheme());
await speak(preferredLanguage());
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");

const router = createBrowserRouter(routes);

/** Every page, drawn anew when the language changes. */
function Pages() {
  return <RouterProvider key={useLanguage()} router={router} />;
}

createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Pages />
    </QueryClientProvider>
  </StrictMode>,
);
