/** Every address of the application. A page that is large is loaded when it is opened (`lazy`). */
import { Navigate, type RouteObject } from "react-router";

import { Account } from "../screens/Account";
import { Failed, NotFound } from "../screens/NotFound";
import { EditStudy, NewStudy } from "../screens/form/StudyFormScreens";
import { People } from "../screens/People";
import { Cohorts } from "../screens/study/Cohorts";
import { Log } from "../screens/study/Log";
import { PlanScreen } from "../screens/study/PlanScreen";
import { Privacy } from "../screens/study/Privacy";
import { ProgressScreen } from "../screens/study/ProgressScreen";
import { StudyLayout, ToItsPage } from "../screens/study/StudyLayout";
import { Studies } from "../screens/Studies";
import { Shell } from "./Shell";

export const routes: RouteObject[] = [
  {
    element: <Shell />,
    errorElement: <Failed />,
    HydrateFallback: () => null,
    children: [
      { index: true, element: <Studies /> },
      { path: "first-run", element: <Navigate to="/" replace /> },
      { path: "account", element: <Account /> },
      {
        path: "guide",
        lazy: async () => ({ Component: (await import("../screens/guide/Guide")).Guide }),
      },
      { path: "people", element: <People /> },
      { path: "studies/new", element: <NewStudy /> },
      {
        path: "studies/:id",
        element: <StudyLayout />,
        children: [
          { index: true, element: <ToItsPage /> },
          { path: "plan", element: <PlanScreen /> },
          { path: "edit", element: <EditStudy /> },
          { path: "cohorts", element: <Cohorts /> },
          { path: "progress", element: <ProgressScreen /> },
          {
            path: "results",
            lazy: async () => ({ Component: (await import("../screens/study/Results")).Results }),
          },
          { path: "privacy", element: <Privacy /> },
          { path: "log", element: <Log /> },
        ],
      },
      { path: "*", element: <NotFound /> },
    ],
  },
];
