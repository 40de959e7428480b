from __future__ import annotations

from django.urls import path

from unpooled_webapp.api import demo, methods, people, pictures, session, studies

urlpatterns = [
    path("session", session.SessionView.as_view()),
    path("session/password", session.PasswordView.as_view()),
    path("first-run", session.FirstRunView.as_view()),
    path("methods", methods.MethodsView.as_view()),
    path("demo", demo.DemoView.as_view()),
    path("example", demo.ExampleView.as_view()),
    path("people", people.PeopleView.as_view()),
    path("people/<str:username>", people.PersonView.as_view()),
    path("studies", studies.StudiesView.as_view()),
    path("studies/<str:study>", studies.StudyView.as_view()),
    path("studies/<str:study>/start", studies.StartView.as_view()),
    path("studies/<str:study>/pause", studies.PauseView.as_view()),
    path("studies/<str:study>/resume", studies.ResumeView.as_view()),
    path("studies/<str:study>/abort", studies.AbortView.as_view()),
    path("studies/<str:study>/duplicate", studies.DuplicateView.as_view()),
    path("studies/<str:study>/archive", studies.ArchiveView.as_view()),
    path("studies/<str:study>/list", studies.ListView.as_view()),
    path("studies/<str:study>/invitations", studies.InvitationsView.as_view()),
    path("studies/<str:study>/invitations/<str:cohort>", studies.InvitationView.as_view()),
    path("studies/<str:study>/invitations/<str:cohort>/revoke", studies.RevokeView.as_view()),
    path("studies/<str:study>/invitations/<str:cohort>/reissue", studies.ReissueView.as_view()),
    path("studies/<str:study>/progress", studies.ProgressView.as_view()),
    path("studies/<str:study>/traffic", studies.TrafficView.as_view()),
    path("studies/<str:study>/leaving", studies.LeavingView.as_view()),
    path("studies/<str:study>/parties", studies.PartiesView.as_view()),
    path("studies/<str:study>/log", studies.LogView.as_view()),
    path("studies/<str:study>/table", studies.TableView.as_view()),
    path("studies/<str:study>/manhattan", pictures.ManhattanView.as_view()),
    path("studies/<str:study>/region", pictures.RegionView.as_view()),
    path("studies/<str:study>/qq", pictures.QuantilesView.as_view()),
    path("studies/<str:study>/variants", pictures.VariantsView.as_view()),
    path("studies/<str:study>/loci.csv", pictures.LociView.as_view()),
    path("studies/<str:study>/results", studies.ResultsView.as_view()),
    path("studies/<str:study>/results/<str:name>", studies.ResultView.as_view()),
]
