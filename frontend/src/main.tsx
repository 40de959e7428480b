import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createBrowserRouter, RouterProvider } from "react-router";

import { queryClient } from "./app/queryClient";
import { routes } from "./app/routes";
import { applyTheme, chosenTheme } from "./app/theme";
import "./styles/tokens.css";
import "./styles/base.css";

applyTheme(chosenTheme());
const root = document.getElementById("root");
if (!root) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={createBrowserRouter(routes)} />
    </QueryClientProvider>
  </StrictMode>,
);
