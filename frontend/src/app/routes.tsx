/**
 * Every address of the application. The list of studies is there at once; every other page is loaded when it is
 * opened, with those that are usually opened next.
 */
import type { ComponentType } from "react";
import { Navigate, type RouteObject } from "react-router";

import { Failed, NotFound } from "../screens/NotFound";
import { Studies } from "../screens/Studies";
import { Shell } from "./Shell";

type Pages = Record<string, ComponentType>;

/** A page of a module that is loaded when it is first opened. */
const later = <Module extends Pages>(load: () => Promise<Module>, name: keyof Module) => ({
  lazy: { Component: async () => (await load())[name] },
});

const study = () => import("../screens/study/pagesOfStudy");
const form = () => import("../screens/form/StudyFormScreens");
const account = () => import("../screens/account/Account");

export const routes: RouteObject[] = [
  {
    element: <Shell />,
    errorElement: <Failed />,
    HydrateFallback: () => null,
    children: [
      { index: true, element: <Studies /> },
      { path: "first-run", element: <Navigate to="/" replace /> },
      {
        path: "account",
        ...later(account, "AccountLayout"),
        children: [
          { index: true, element: <Navigate to="profile" replace /> },
          { path: "profile", ...later(account, "Profile") },
          {
            path: "notifications",
            ...later(() => import("../screens/account/Notifications"), "Notifications"),
          },
          { path: "tokens", ...later(() => import("../screens/account/Tokens"), "Tokens") },
        ],
      },
      { path: "guide", ...later(() => import("../screens/guide/Guide"), "Guide") },
      { path: "platform", ...later(() => import("../screens/Platform"), "Platform") },
      { path: "people", ...later(() => import("../screens/People"), "People") },
      { path: "studies/new", ...later(form, "NewStudy") },
      {
        path: "studies/:id",
        ...later(study, "StudyLayout"),
        children: [
          { index: true, ...later(study, "ToItsPage") },
          { path: "plan", ...later(study, "PlanScreen") },
          { path: "edit", ...later(form, "EditStudy") },
          { path: "repeat", ...later(form, "RepeatStudy") },
          { path: "cohorts", ...later(study, "Cohorts") },
          { path: "progress", ...later(study, "ProgressScreen") },
          { path: "results", ...later(() => import("../screens/study/Results"), "Results") },
          { path: "compare", ...later(() => import("../screens/study/results/Compare"), "Compare") },
          { path: "privacy", ...later(study, "Privacy") },
          { path: "log", ...later(study, "Log") },
        ],
      },
      { path: "*", element: <NotFound /> },
    ],
  },
];
